<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis styleCategories="Symbology" version="3.34.0">
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="1" opacity="1" alphaBand="-1" nodataColor="" classificationMin="0" classificationMax="1">
      <rastershader>
        <colorrampshader colorRampType="INTERPOLATED" classificationMode="1" minimumValue="0" maximumValue="1" clip="0">
          <item value="0" label="0 bit" color="#3f007d" alpha="0"/>
          <item value="0.25" label="0.25 bit" color="#6a51a3" alpha="90"/>
          <item value="0.5" label="0.5 bit" color="#807dba" alpha="170"/>
          <item value="1" label="1 bit" color="#f0f9ff" alpha="230"/>
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
  <blendMode>0</blendMode>
</qgis>
